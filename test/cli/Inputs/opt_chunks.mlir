func.func @first() { return }
//
====NEXT====
func.func @second() { return }
// ====NEXT==x
func.func @third() { return }
